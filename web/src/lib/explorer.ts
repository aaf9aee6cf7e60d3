const hash = /^(?:0x)?([0-9a-f]{64})$/i

/**
 * The block explorer's page of a transaction. null without an explorer, and for a reference that is no transaction
 * hash, such as the number of an exchange.
 */
export function explorerLink(address: string | null | undefined, reference: string): string | null {
  const [, digits] = hash.exec(reference.trim()) ?? []
  if (!address?.startsWith('https://') || !digits) return null
  return address.replace('{hash}', digits.toLowerCase())
}
