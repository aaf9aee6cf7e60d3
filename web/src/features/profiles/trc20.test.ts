import { expect, it } from 'vitest'
import { isTrc20Address } from './trc20'

it('knows a real address from one with a slip', async () => {
  // The published contract address of USDT on TRON.
  await expect(isTrc20Address('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t')).resolves.toBe(true)
  await expect(isTrc20Address('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T')).resolves.toBe(false)
  await expect(isTrc20Address('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj')).resolves.toBe(false)
  await expect(isTrc20Address('0x52908400098527886E0F7030069857D2E4169EE7')).resolves.toBe(false)
})
