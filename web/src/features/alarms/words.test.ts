import { expect, test } from 'vitest'
import { differencesOf, figuresOf, rowName, stopsWords } from './words'

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

test('a row is named by its kind, anything else as the check names it', () => {
  const id = '0c1d2e3f-0000-4000-8000-000000000000'
  expect(rowName({ row: { kind: 'deposit', id }, rule: 'I03', object: `I03 ${id}` })).toBe('Deposit 0c1d2e3f')
  expect(rowName({ row: null, rule: 'I27', object: 'I27 flow of 2026-11-24' })).toBe('flow of 2026-11-24')
  expect(rowName({ row: null, rule: 'I07', object: 'I07' })).toBeNull()
  expect(rowName({ row: null, rule: null, object: 'outbox' })).toBeNull()
})

test('figures are printed whole, and not what the sentences say', () => {
  expect(figuresOf({ shortfall: 7900, caused_by_corrections: '0.00', rows: 3 })).toEqual([
    { label: 'Shortfall', value: '7900' },
    { label: 'Caused by corrections', value: '0.00' },
  ])
})

test('an entry and a row are compared figure by figure', () => {
  const says = { amount: '130.00', wallet_address: 'TOld' }
  expect(differencesOf({ says, is: { amount: '130.00', wallet_address: 'TNew', reason: null } })).toEqual([
    { name: 'Wallet address', entry: 'TOld', row: 'TNew' },
  ])
  expect(differencesOf({ says: null, is: { amount: '130.00' } })).toEqual([
    { name: 'Amount', entry: 'No entry', row: '130.00' },
  ])
  expect(differencesOf({ says: { amount: '130.00' }, is: null })[0]?.row).toBe('No row')
  expect(differencesOf({ shortfall: 3 })).toEqual([])
})
