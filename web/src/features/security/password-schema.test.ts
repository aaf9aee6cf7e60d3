import { describe, expect, it } from 'vitest'
import { passwordSchema } from './password-schema'

function problem(current: string, next: string, again: string) {
  const issue = passwordSchema.safeParse({ current, next, again }).error?.issues[0]
  return issue && [issue.path[0], issue.message]
}

describe('passwordSchema', () => {
  it.each([
    ['', 'longer1', 'longer1', ['current', 'All fields are required']],
    ['secret1', 'longer1', 'longer2', ['again', 'Password mismatch']],
    ['secret1', 'short', 'short', ['next', 'Password too short']],
    ['secret1', '      ', '      ', ['next', 'This password is too easy to guess. Choose another one.']],
    ['secret1', 'secret1', 'secret1', ['next', 'Same password']],
  ])('%s, %s, %s', (current, next, again, expected) => {
    expect(problem(current, next, again)).toEqual(expected)
  })

  it('takes a new one', () => {
    expect(problem('secret1', 'another1', 'another1')).toBeUndefined()
  })
})
