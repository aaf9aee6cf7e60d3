import { expect, test } from 'vitest'
import { explorerLink } from './explorer'

const explorer = 'https://explorer.example/#/transaction/{hash}'
const digits = '9071D8'.padEnd(64, 'a')

test('a transaction hash has a page, with or without 0x', () => {
  const page = `https://explorer.example/#/transaction/${digits.toLowerCase()}`
  expect(explorerLink(explorer, digits)).toBe(page)
  expect(explorerLink(explorer, ` 0x${digits} `)).toBe(page)
})

test('nothing else has one', () => {
  expect(explorerLink(null, digits)).toBeNull()
  expect(explorerLink(undefined, digits)).toBeNull()
  expect(explorerLink('javascript:alert(1)//{hash}', digits)).toBeNull()
  expect(explorerLink(explorer, 'Binance 4471')).toBeNull()
  expect(explorerLink(explorer, digits.slice(1))).toBeNull()
  expect(explorerLink(explorer, `${digits}a`)).toBeNull()
})
