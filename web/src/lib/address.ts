/** "TJRabP...9xFz": the six first and four last characters. Short texts stay whole. */
export function shortAddress(address: string): string {
  return address.length > 13 ? `${address.slice(0, 6)}...${address.slice(-4)}` : address
}

/** "TSAM PLEA DDRE": groups of four, as a person compares them. */
export function groupedAddress(address: string): string {
  return address.replace(/(.{4})(?=.)/g, '$1 ')
}
