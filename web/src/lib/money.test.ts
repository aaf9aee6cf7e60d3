import { describe, expect, it } from 'vitest'
import {
  add,
  compare,
  formatAxis,
  formatMoney,
  formatPercent,
  fractionOf,
  parseAmount,
  percentOf,
  ratio,
  subtract,
  toCents,
} from './money'

describe('arithmetic', () => {
  it('adds what floating point cannot', () => {
    expect(add('0.10', '0.20')).toBe('0.30')
    expect(add('9007199254740993.01', '0.01')).toBe('9007199254740993.02')
  })

  it('subtracts below zero', () => {
    expect(subtract('434.50', '500.00')).toBe('-65.50')
    expect(subtract('0.05', '0.10')).toBe('-0.05')
  })

  it('refuses what is not an amount', () => {
    expect(() => toCents('1e3')).toThrow(RangeError)
    expect(() => toCents('NaN')).toThrow(RangeError)
    expect(() => toCents('1.005')).toThrow(RangeError)
  })

  it('takes percent with halves away from zero', () => {
    expect(percentOf('500.00', '30.00')).toBe('150.00')
    expect(percentOf('0.05', '10')).toBe('0.01')
    expect(percentOf('-0.05', '10')).toBe('-0.01')
  })

  it('works out the share of a whole', () => {
    expect(ratio('-65.50', '500.00')).toBe('-13.10')
    expect(ratio('1.00', '3.00')).toBe('33.33')
    expect(ratio('2.00', '3.00')).toBe('66.67')
    expect(ratio('1.00', '0.00')).toBeNull()
  })

  it('compares and places', () => {
    expect(compare('99.99', '100.00')).toBeLessThan(0)
    expect(fractionOf('184.50', '284.50')).toBeCloseTo(0.6485)
    expect(fractionOf('5.00', '0.00')).toBe(0)
    expect(fractionOf('9.00', '3.00')).toBe(1)
  })
})

describe('formats', () => {
  it('writes money', () => {
    expect(formatMoney('10000000.00')).toBe('$10,000,000.00')
    expect(formatMoney('-75')).toBe('\u2212$75.00')
    expect(formatMoney('2.5', { signed: true })).toBe('+$2.50')
    expect(formatMoney('0', { signed: true })).toBe('$0.00')
  })

  it('writes percentages', () => {
    expect(formatPercent('-13.10')).toBe('\u221213.10%')
    expect(formatPercent('5')).toBe('5%')
  })

  it('shortens only on axes', () => {
    expect(formatAxis(12_000)).toBe('$12k')
    expect(formatAxis(1500)).toBe('$1,500')
    expect(formatAxis(-500)).toBe('\u2212$500')
  })
})

describe('parseAmount', () => {
  it('takes a dollar sign and commas', () => {
    expect(parseAmount(' $1,234.5 ')).toEqual({ value: '1234.50' })
    expect(parseAmount('.5')).toEqual({ value: '0.50' })
  })

  it('says what is wrong', () => {
    expect(parseAmount('')).toEqual({ problem: 'empty' })
    expect(parseAmount('12.345')).toEqual({ problem: 'decimals' })
    expect(parseAmount('1,5')).toEqual({ problem: 'invalid' })
    expect(parseAmount('-5')).toEqual({ problem: 'invalid' })
    expect(parseAmount('.')).toEqual({ problem: 'invalid' })
    expect(parseAmount('1e5')).toEqual({ problem: 'invalid' })
  })
})
