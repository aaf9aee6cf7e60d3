import { describe, expect, it } from 'vitest'
import { safeRedirect, signInPath } from './paths'

const origin = 'https://harborline.example'

describe('safeRedirect', () => {
  it('keeps a path of this site with its query and fragment', () => {
    expect(safeRedirect('/withdraw?amount=100#form', origin)).toBe('/withdraw?amount=100#form')
  })

  it.each([
    null,
    '',
    'dashboard',
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    '/sign-in?redirect=/sign-in',
  ])('refuses %j', (value) => {
    expect(safeRedirect(value, origin)).toBe('/dashboard')
  })

  it('survives the round trip through the sign-in page', () => {
    const target = '/transactions?type=bonus&from=2026-03-01'
    const query = new URL(signInPath(target), origin).searchParams
    expect(safeRedirect(query.get('redirect'), origin)).toBe(target)
  })
})
