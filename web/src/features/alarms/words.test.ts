import { expect, test } from 'vitest'
import { differencesOf, figuresOf, namedThing, stopsWords } from './words'

const at = '2026-11-24T02:00:00Z'

test('an alarm says whose money it stops', () => {
  expect(stopsWords({ stops: 'everybody', acknowledged_at: null })).toBe('Stops every decision about money')
  expect(stopsWords({ stops: 'member', acknowledged_at: null })).toBe(
    "Stops decisions about this member's money",
  )
  expect(stopsWords({ stops: null, acknowledged_at: null })).toBe('Stops nothing')
  expect(stopsWords({ stops: null, acknowledged_at: at })).toBe(
    'Acknowledged: stops nothing until it changes',
  )
})

const id = '0c1d2e3f-0000-4000-8000-000000000000'

test.each([
  ['I27 flow of 2026-11-24', 'Day', '24 Nov 2026'],
  ['I27 package_investment', 'Figure', 'Package investment'],
  ['I40 referral_percent', 'Figure', 'Referral percent'],
  ['I41 4', 'Place in the tree', '4'],
  ['I30 2 2026-11-24', 'Day', '24 Nov 2026'],
  ['I38 2026-11-24', 'Day', '24 Nov 2026'],
  ['I39 2026-11-24 00:02:00.123', 'Day', '24 Nov 2026'],
  ['I26 12', 'Link of the audit log', '12'],
  ['I10 referral 2 ', 'Bonus', 'Referral, place 2'],
  ['I11 override 2 1', 'Bonus', 'Override, place 2, pair 1'],
  [`I48 ${id} correction.proposed twice`, 'Row', `Correction ${id}`],
  [`I05 ${id}`, 'Row', id],
])('what is no row of a list is named in words: %s', (object, label, name) => {
  expect(namedThing({ row: null, rule: object.slice(0, 3), object })).toEqual({ label, name })
})

test('a row is named by its kind, and nothing where there is nothing to name', () => {
  expect(namedThing({ row: { kind: 'deposit', id }, rule: 'I03', object: `I03 ${id}` })).toEqual({
    label: 'Row',
    name: 'Deposit 0c1d2e3f',
  })
  expect(namedThing({ row: null, rule: 'I21', object: 'I21 all' })).toBeNull()
  expect(namedThing({ row: null, rule: 'I07', object: 'I07' })).toBeNull()
  expect(namedThing({ row: null, rule: null, object: 'outbox' })).toBeNull()
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
  expect(figuresOf({ days: 3, stored_pending: '0.01', due_pending: '306.00', due_ratio: null })).toEqual([
    { label: 'Days', value: '3' },
    { label: 'Stored pending', value: '$0.01' },
    { label: 'Due pending', value: '$306.00' },
    { label: 'Due ratio', value: 'None' },
  ])
  expect(figuresOf({ shortfall: '0.005' })[0]?.value).toBe('0.005')
})

test('an entry and a row are compared figure by figure', () => {
  const says = { amount: '130.00', wallet_address: 'TOld' }
  expect(differencesOf({ says, is: { amount: '130.00', wallet_address: 'TNew', reason: null } })).toEqual([
    { name: 'Wallet address', entry: 'TOld', row: 'TNew' },
  ])
  expect(differencesOf({ says: null, is: { amount: '130.00' } })).toEqual([
    { name: 'Amount', entry: 'No entry', row: '$130.00' },
  ])
  expect(differencesOf({ says: { amount: '130.00' }, is: null })[0]?.row).toBe('No row')
  expect(differencesOf({ shortfall: 3 })).toEqual([])
})
