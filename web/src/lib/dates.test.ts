import { describe, expect, it } from 'vitest'
import {
  dayWord,
  describeSpan,
  formatDay,
  formatDue,
  formatExact,
  formatLasting,
  formatRelative,
} from './dates'

const now = new Date(2026, 2, 16, 14, 2)
const before = (minutes: number) => new Date(now.getTime() - minutes * 60_000)

describe('formatRelative', () => {
  it.each([
    [0, 'just now'],
    [1, '1 minute ago'],
    [59, '59 minutes ago'],
    [180, '3 hours ago'],
    [60 * 47, '1 day ago'],
    [60 * 24 * 6, '6 days ago'],
    [60 * 24 * 7, '9 Mar 2026'],
    [-120, 'in 2 hours'],
  ])('%d minutes', (minutes, text) => {
    expect(formatRelative(before(minutes), now)).toBe(text)
  })
})

describe('dayWord', () => {
  it.each([
    [new Date(2026, 2, 16, 0, 0), 'Today'],
    [new Date(2026, 2, 15, 23, 59), 'Yesterday'],
    [new Date(2026, 2, 14, 10, 31), 'Sat'],
  ])('%s', (day, word) => {
    expect(dayWord(day, now)).toBe(word)
  })
})

it.each([
  [0, 'for less than a minute'],
  [12 * 60, 'for 12 hours'],
  [60 * 24 * 9, 'for 9 days'],
])('how long %d minutes are', (minutes, text) => {
  expect(formatLasting(before(minutes), now)).toBe(text)
})

it.each([
  [59_000, 'less than a minute'],
  [60_000, '1 minute'],
  [-5_000, 'less than a minute'],
])('a span of %d ms', (span, text) => {
  expect(describeSpan(span)).toBe(text)
})

describe('exact forms', () => {
  it('prints days and times', () => {
    expect(formatDay(new Date(2026, 8, 4))).toBe('4 Sep 2026')
    expect(formatExact(new Date(2026, 2, 15, 4, 5))).toBe('15 Mar 2026 04:05')
  })

  it('says when something is due', () => {
    expect(formatDue(before(-14 * 60 - 5), now)).toEqual({ text: 'due in 14 h', overdue: false })
    expect(formatDue(before(185), now)).toEqual({ text: 'overdue by 3 h', overdue: true })
  })
})
