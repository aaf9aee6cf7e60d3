import { expect, test } from 'vitest'
import { sentValue, shownValue, typedValue } from './setting-value'

test('what is there is typed as a person would', () => {
  expect(typedValue({ kind: 'list', value: ['DE', 'AT'] })).toBe('DE, AT')
  expect(typedValue({ kind: 'text', value: null })).toBe('')
  expect(typedValue({ kind: 'integer', value: 48 })).toBe('48')
  expect(typedValue({ kind: 'boolean', value: false })).toBe('false')
})

test('what is there is read as words', () => {
  expect(shownValue({ kind: 'boolean', value: false })).toBe('No')
  expect(shownValue({ kind: 'integer', value: 48 })).toBe('48')
  expect(shownValue({ kind: 'amount', value: '5' })).toBe('$5.00')
  expect(shownValue({ kind: 'text', value: null })).toBe('Not set')
})

test('what is typed is sent by its kind', () => {
  expect(sentValue('list', ' DE , AT ')).toEqual(['DE', 'AT'])
  expect(sentValue('list', '')).toEqual([])
  expect(sentValue('integer', '48')).toBe(48)
  expect(sentValue('amount', ' $7.5 ')).toBe('7.50')
  expect(sentValue('boolean', 'true')).toBe(true)
  expect(sentValue('text', ' Harborline ')).toBe('Harborline')
  expect(sentValue('text', '')).toBeNull()
})

test('what cannot be a value is not sent', () => {
  expect(sentValue('integer', '4.5')).toBeUndefined()
  expect(sentValue('amount', '7.555')).toBeUndefined()
  expect(sentValue('amount', '')).toBeUndefined()
  expect(sentValue('boolean', 'yes')).toBeUndefined()
})
