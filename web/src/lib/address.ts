/** "TJRabP...9xFz": the six first and four last characters. Short texts stay whole. */
export function shortAddress(address: string): string {
  return address.length > 13 ? `${address.slice(0, 6)}...${address.slice(-4)}` : address
}

/** Whether this looks like a TRC20 address, right or not. */
export function isTrc20(text: string): boolean {
  return /^T[1-9A-HJ-NP-Za-km-z]{33}$/.test(text)
}

/** "TSAM PLEA DDRE": groups of four, as a person compares them. */
export function groupedAddress(address: string): string {
  return address.replace(/(.{4})(?=.)/g, '$1 ')
}
