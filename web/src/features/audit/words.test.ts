import { expect, test } from 'vitest'
import { actionWords, fieldWords, requestOf, roleWords, valueText } from './words'

test('an action reads as area and act', () => {
  expect(actionWords('deposit.receipt_opened')).toBe('Deposit: receipt opened')
  expect(actionWords('restart')).toBe('Restart')
})

test('a field reads as words', () => {
  expect(fieldWords('status_before')).toBe('Status before')
})

test('a value is printed whole', () => {
  expect(valueText('a')).toBe('a')
  expect(valueText(null)).toBe('None')
  expect(valueText({ amount: '10.00' })).toBe('{"amount":"10.00"}')
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
