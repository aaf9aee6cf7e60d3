import { expect, test } from 'vitest'
import type { Movement } from './api'
import { groupByDay } from './history-days'

const movement = (id: string, at: Date) => ({ id, created_at: at.toISOString() }) as Movement

test('rows stand under their days, in the order in which they come', () => {
  const days = groupByDay(
    [
      movement('a', new Date(2026, 2, 15, 18, 4)),
      movement('b', new Date(2026, 2, 11, 11, 8)),
      movement('c', new Date(2026, 2, 11, 11, 8)),
    ],
    new Date(2026, 2, 16, 14, 2),
  )
  expect(days.map(({ word, date, items }) => [word, date, ...items.map(({ id }) => id)])).toEqual([
    ['Yesterday', '15 Mar 2026', 'a'],
    ['Wed', '11 Mar 2026', 'b', 'c'],
  ])
})
