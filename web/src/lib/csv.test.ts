import { expect, it } from 'vitest'
import { toCsv } from './csv'

it.each(Array.from('=+-@\t\r\n＝＋－＠'))('lets no cell begin with %j', (first) => {
  expect(toCsv(['a'], [[`${first}1+1`]])).toMatch(/^a\r\n"?'/)
})

it('quotes, and disarms formulas without touching amounts', () => {
  expect(
    toCsv(
      ['a', 'b'],
      [
        ['=1+1', '-100.00'],
        ['x, "y"', '@cmd'],
      ],
    ),
  ).toBe(`a,b\r\n'=1+1,-100.00\r\n"x, ""y""",'@cmd\r\n`)
})
