import { expect, test } from 'vitest'
import { blockedWords, differencesOf, figuresOf, namedThing, stopsWords } from './words'

const at = '2026-11-24T02:00:00Z'

test('an alarm says whose money it blocks', () => {
  expect(stopsWords({ stops: 'everybody', acknowledged_at: null })).toBe('Blocks every decision about money')
  expect(stopsWords({ stops: 'member', acknowledged_at: null })).toBe(
    "Blocks decisions about this member's money",
  )
  expect(stopsWords({ stops: 'administrator', acknowledged_at: null })).toBe(
    'Blocks decisions of this administrator',
  )
  expect(stopsWords({ stops: 'setting', acknowledged_at: null })).toBe(
    'Blocks decisions that depend on this setting',
  )
  expect(stopsWords({ stops: null, acknowledged_at: null })).toBe('Decisions go on')
  expect(stopsWords({ stops: null, acknowledged_at: at })).toBe(
    'Acknowledged: decisions go on until it changes',
  )
  expect(blockedWords({ stops: 'member' })).toBe("decisions about this member's money")
  expect(blockedWords({ stops: null })).toBe('nothing')
})

const id = '0c1d2e3f-0000-4000-8000-000000000000'
const place = { username: 'ask', profile_id: id }

test.each([
  ['I27 flow of 2026-11-24', { label: 'Day', name: '24 Nov 2026' }],
  ['I27 package_investment', { label: 'Figure', name: 'Package investment' }],
  ['I40 referral_percent', { label: 'Figure', name: 'Referral percent' }],
  ['I30 2 2026-11-24', { label: 'Day', name: '24 Nov 2026' }],
  ['I38 2026-11-24', { label: 'Day', name: '24 Nov 2026' }],
  ['I39 2026-11-24 00:02:00.123', { label: 'Day', name: '24 Nov 2026' }],
  ['I26 12', { label: 'Where', name: 'Entry 12 of the audit log', entry: '12' }],
  ['I26 entry 12', { label: 'Where', name: 'Entry 12 of the audit log', entry: '12' }],
  ['I10 referral 2 ', { label: 'Bonus', name: 'Referral' }],
  ['I11 override 2 1', { label: 'Bonus', name: 'Override, pair 1' }],
  [`I48 ${id} correction.proposed twice`, { label: 'Row', name: 'Correction', id }],
  [`I05 ${id}`, { label: 'Row', name: '', id }],
])('what is no row of a list is named in words: %s', (object, thing) => {
  expect(namedThing({ row: null, rule: object.slice(0, 3), object, at_place: null })).toEqual(thing)
})

test.each([
  ['I11 pairing 2 3', 'Bonus', 'Pairing, pair 3 of ask'],
  ['I10 referral 2 ', 'Bonus', 'Referral of ask'],
  ['I41 4', 'Referral', 'ask'],
])('a place in the tree is named by its member: %s', (object, label, name) => {
  expect(namedThing({ row: null, rule: object.slice(0, 3), object, at_place: place })).toEqual({
    label,
    name,
  })
})

test.each(['I21 all', 'I07', 'I23 4', 'I29 4', 'I41 4'])(
  'no number of the database is shown: %s',
  (object) => {
    expect(namedThing({ row: null, rule: object.slice(0, 3), object, at_place: null })).toBeNull()
  },
)

test('a row is named by its kind and id, an administrator by name', () => {
  const named = { rule: 'I03', object: `I03 ${id}`, at_place: null }
  expect(namedThing({ ...named, row: { kind: 'deposit', id } })).toEqual({
    label: 'Row',
    name: 'Deposit',
    id,
  })
  expect(namedThing({ ...named, row: { kind: 'administrator', id, name: 'ada@example.com' } })).toEqual({
    label: 'Administrator',
    name: 'ada@example.com',
    id,
  })
  expect(namedThing({ ...named, row: null, rule: null, object: 'outbox' })).toBeNull()
})

test('figures are printed as figures are elsewhere, and not what the sentences say', () => {
  expect(figuresOf({ shortfall: 7900, caused_by_corrections: '0.00', rows: 3 })).toEqual([
    { label: 'Shortfall', value: '$7,900.00' },
    { label: 'Caused by corrections', value: '$0.00' },
  ])
  expect(figuresOf({ role: 'super_admin', is_active: true, entry: null })).toEqual([
    { label: 'Role', value: 'Super admin' },
    { label: 'Active', value: 'Yes' },
    { label: 'Entry of the audit log', value: 'None' },
  ])
  expect(figuresOf({ days: 3, stored_pending: '0.01', due_pending: '306.00' })).toEqual([
    { label: 'Days', value: '3' },
  ])
  expect(figuresOf({ shortfall: '0.005' })[0]?.value).toBe('0.005')
})

test('an entry and a row are compared figure by figure', () => {
  const says = { amount: '130.00', wallet_address: 'TOld' }
  expect(
    differencesOf({ says, is: { amount: '130.00', wallet_address: 'TNew', reason: null } }),
  ).toMatchObject({
    heads: ['In the audit log', 'In the row'],
    rows: [{ name: 'Wallet address', one: 'TOld', other: 'TNew' }],
  })
  expect(differencesOf({ says: null, is: { amount: '130.00' } })?.rows).toEqual([
    { name: 'Amount', one: 'No entry', other: '$130.00' },
  ])
  expect(differencesOf({ says: { amount: '130.00' }, is: null })?.rows[0]?.other).toBe('No row')
  expect(differencesOf({ shortfall: 3 })).toBeNull()
})

test('what is stored is compared with what it should be', () => {
  const details = { stored_pending: '0.01', due_pending: '306.00', stored_ratio: null, due_ratio: null }
  expect(differencesOf(details)).toMatchObject({
    heads: ['Should be', 'Stored'],
    rows: [{ name: 'Pending', one: '$306.00', other: '$0.01' }],
  })
})
