import { expect, test } from 'vitest'
import type { Movement } from './api'
import { groupByDay } from './history-days'

const movement = (id: string, at: Date) => ({ id, effective_at: at.toISOString() }) as Movement

test('rows stand under their days, in the order in which they come', () => {
  const days = groupByDay(
    [
      movement('a', new Date(2026, 2, 15, 18, 4)),
      movement('b', new Date(2026, 2, 11, 11, 8)),
      movement('c', new Date(2026, 2, 11, 11, 8)),
    ],
    new Date(2026, 2, 16, 14, 2),
    'all',
  )
  expect(days.map(({ word, date, items }) => [word, date, ...items.map(({ id }) => id)])).toEqual([
    ['Yesterday', '15 Mar 2026', 'a'],
    ['Wed', '11 Mar 2026', 'b', 'c'],
  ])
})

test('several bonuses of a day are summed where all of its rows are here', () => {
  const bonus = (id: string, day: number, amount: string, type = 'referral bonus') => ({
    ...movement(id, new Date(2026, 2, day, 11, 8)),
    transaction_type: type,
    amount,
  })
  const items = [
    bonus('a', 15, '2.50'),
    bonus('b', 12, '-120.00', 'withdrawal'),
    bonus('c', 12, '80.00', 'pairing bonus'),
    bonus('d', 12, '-5.00'),
    bonus('e', 11, '1.00', 'override bonus'),
    bonus('f', 11, '0.10'),
  ]
  const sums = (whole: Parameters<typeof groupByDay>[2]) =>
    groupByDay(items, new Date(2026, 2, 16), whole).map(({ bonuses }) => bonuses)
  expect(sums('all')).toEqual([null, '75.00', '1.10'])
  expect(sums('but the last')).toEqual([null, '75.00', null])
  expect(sums('none')).toEqual([null, null, null])
})
