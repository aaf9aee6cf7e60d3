import { describe, expect, it } from 'vitest'
import { safeAdminRedirect, safeRedirect, signInPath } from './paths'

const origin = 'https://harborline.example'

// threats: T113
describe('safeRedirect', () => {
  it('keeps a path of this site with its query and fragment', () => {
    expect(safeRedirect('/withdraw?amount=100#form', origin)).toBe('/withdraw?amount=100#form')
  })

  it.each([null, '', 'dashboard', '/no-such-page', '/sign-in?redirect=/sign-in', '/sign-in/'])(
    'leads to no page for %j',
    (value) => {
      expect(safeRedirect(value, origin)).toBe('/dashboard')
    },
  )

  it.each([
    'https://evil.example/',
    'https:evil.example',
    'https:/evil.example',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/.\\/evil.example',
    '/%2e//evil.example',
    '/withdraw/..//evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    ' //evil.example',
    '%2f%2fevil.example',
    '/%2f%2fevil.example',
    '/@evil.example',
    'javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,evil',
    `${origin}@evil.example/`,
  ])('leads to no other site for %j', (value) => {
    expect(safeRedirect(value, origin)).toBe('/dashboard')
  })

  it('drops the tokens of a mail link', () => {
    expect(safeRedirect('/deposit?from=mail#access_token=a.b.c&refresh_token=d', origin)).toBe(
      '/deposit?from=mail',
    )
    expect(safeRedirect('/deposit#refresh_token=d', origin)).toBe('/deposit')
  })

  it('survives the round trip through the sign-in page', () => {
    const target = '/transactions?type=bonus&from=2026-03-01'
    const query = new URL(signInPath(target), origin).searchParams
    expect(safeRedirect(query.get('redirect'), origin)).toBe(target)
  })
})

describe('safeAdminRedirect', () => {
  it('leads back to the page that was asked for', () => {
    expect(safeAdminRedirect('/admin/withdrawals?status=approved&page=2', origin)).toBe(
      '/admin/withdrawals?status=approved&page=2',
    )
  })

  it.each([
    null,
    '',
    '/dashboard',
    '/admin/login',
    '/admin/no-such-page',
    'https://evil.example/admin/audit',
  ])('leads to the dashboard for %j', (value) => {
    expect(safeAdminRedirect(value, origin)).toBe('/admin/dashboard')
  })
})
