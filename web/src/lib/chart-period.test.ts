import { expect, test } from 'vitest'
import { barName, describeRunning } from './chart-period'

test('a running period says so', () => {
  const period = { from: '2025-12-22', to: '2026-03-16', bucket: 'week' } as const
  expect(describeRunning(period)).toBe('By week, 22 Dec 2025 to 16 Mar 2026, the last week so far.')
  expect(barName('2026-03-16', 'week', true)).toBe('Week of 16 Mar 2026, so far')
  expect(barName('2026-03-09', 'week')).toBe('Week of 9 Mar 2026')
  expect(barName('2026-03-01', 'month', true)).toBe('Mar 2026, so far')
})
