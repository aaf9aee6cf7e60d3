import { expect, test } from 'vitest'
import { actionWords, fieldWords, noted, requestOf, roleWords, valueText } from './words'

test('an action reads as area and act', () => {
  expect(actionWords('deposit.receipt_opened')).toBe('Deposit: receipt opened')
  expect(actionWords('restart')).toBe('Restart')
  expect(actionWords('books.repaired')).toBe('Ledger: repaired')
})

test('a field reads as words', () => {
  expect(fieldWords('status_before')).toBe('Status before')
})

test('a value is printed whole', () => {
  expect(valueText('a')).toBe('a')
  expect(valueText(null)).toBe('None')
  expect(valueText({ amount: '10.00' })).toBe('{"amount":"10.00"}')
})

test.each([
  ['amount', '130.00', '$130.00', false],
  ['cash_in_after', '1250.00', '$1,250.00', false],
  ['value', '48', '48', false],
  ['reason', 'Transaction not found', 'Transaction not found', false],
  ['wallet_address', 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb', true],
  ['deposit', '0c1d2e3f-0000-4000-8000-000000000000', '0c1d2e3f-0000-4000-8000-000000000000', true],
  ['payout_reference', 'Order-77', 'Order-77', true],
  ['pending', 3, '3', false],
])('a value is printed as the lists print it: %s %s', (field, value, text, mono) => {
  expect(noted(field, value)).toEqual({ text, mono })
})

test('an administrator acted in the role that was recorded', () => {
  const actor = 'admin:0c1d'
  expect(roleWords({ actor, payload: { actor_role: 'finance_admin' } })).toBe('Finance admin')
  expect(roleWords({ actor, payload: null })).toBe('Administrator')
  expect(roleWords({ actor: 'member:0c1d', payload: {} })).toBe('Member')
  expect(roleWords({ actor: 'service', payload: {} })).toBe('System')
})

test('a request has its number where one was recorded', () => {
  expect(requestOf({ payload: { request_id: '4f1a' } })).toBe('4f1a')
  expect(requestOf({ payload: null })).toBeNull()
})
