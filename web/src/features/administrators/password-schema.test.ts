import { expect, test } from 'vitest'
import { passwordSchema } from './password-schema'

const good = { current: 'old-secret-1', next: 'new-secret-2', again: 'new-secret-2', code: '' }

function complaints(change: Partial<typeof good>): string[] {
  const answer = passwordSchema.safeParse({ ...good, ...change })
  return answer.success ? [] : answer.error.issues.map((issue) => issue.message)
}

test('a good change has no complaint', () => {
  expect(complaints({})).toEqual([])
})

test('every field is needed', () => {
  expect(complaints({ current: '' })).toEqual(['All fields are required'])
})

test('both new passwords are the same', () => {
  expect(complaints({ again: 'other' })).toEqual(['New passwords do not match'])
})

test('seven characters are too few, eight are enough', () => {
  expect(complaints({ next: 'seven77', again: 'seven77' })).toEqual([
    'New password must be at least 8 characters long',
  ])
  expect(complaints({ next: 'eight888', again: 'eight888' })).toEqual([])
})
