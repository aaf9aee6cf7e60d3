import { isTrc20 } from '@/lib/address'

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const addressBytes = 25

/** The bytes of a base58 text, right-aligned in 25; null when it is no base58 of that length. */
function decode(text: string): Uint8Array<ArrayBuffer> | null {
  let value = 0n
  for (const character of text) {
    const digit = alphabet.indexOf(character)
    if (digit < 0) return null
    value = value * 58n + BigInt(digit)
  }
  const bytes = new Uint8Array(addressBytes)
  for (let at = addressBytes - 1; at >= 0; at -= 1) {
    bytes[at] = Number(value & 0xffn)
    value >>= 8n
  }
  return value === 0n ? bytes : null
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

/** base58check with TRON's prefix: 34 characters, starting with T, and a checksum that holds. */
export async function isTrc20Address(address: string): Promise<boolean> {
  if (!isTrc20(address)) return false
  const bytes = decode(address)
  if (bytes?.[0] !== 0x41) return false
  const check = await sha256(await sha256(bytes.slice(0, 21)))
  return bytes.slice(21).every((byte, index) => byte === check[index])
}
