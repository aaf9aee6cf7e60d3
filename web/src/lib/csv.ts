/** A cell of a CSV file. What a spreadsheet would take for a formula is led by an apostrophe; plain numbers are not. */
function cell(value: string): string {
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(value) && !/^[+-]?\d+(\.\d+)?$/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Rows as CSV text (RFC 4180), the heading first. */
export function toCsv(head: string[], rows: string[][]): string {
  return [head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n'
}

/** Hands a text to the browser as a file. */
export function saveText(text: string, name: string, type: string): void {
  saveFile(new Blob([text], { type }), name)
}

/** Hands a file to the browser. */
export function saveFile(file: Blob, name: string): void {
  const address = URL.createObjectURL(file)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}
