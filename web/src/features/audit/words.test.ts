import { expect, test } from 'vitest'
import { actionWords, fieldWords, valueText } from './words'

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
