import { expect, test } from 'vitest'
import { monthName, monthsBetween, presets, utcDay } from './periods'

test('presets are whole UTC periods', () => {
  expect(presets(new Date('2026-03-16T13:02:00Z'))).toEqual([
    { label: 'This month', from: '2026-03-01', to: '2026-03-16' },
    { label: 'Last month', from: '2026-02-01', to: '2026-02-28' },
    { label: 'Last 90 days', from: '2025-12-17', to: '2026-03-16' },
    { label: 'This year', from: '2026-01-01', to: '2026-03-16' },
  ])
})

test('in January, last month is of last year', () => {
  expect(presets(new Date('2026-01-01T00:00:00Z'))[1]).toEqual({
    label: 'Last month',
    from: '2025-12-01',
    to: '2025-12-31',
  })
})

test('months run from the newest to the first', () => {
  expect(monthsBetween(new Date('2025-11-30T23:00:00Z'), new Date('2026-02-01T00:00:00Z'))).toEqual([
    '2026-02',
    '2026-01',
    '2025-12',
    '2025-11',
  ])
})

test('names are of UTC', () => {
  expect(monthName('2026-03')).toBe('March 2026')
  expect(utcDay('2026-03-16T23:59:59Z')).toBe('16 Mar 2026')
})
