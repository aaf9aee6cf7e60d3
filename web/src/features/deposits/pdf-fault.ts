/** Why pdf.js could not open a file, in words for who wanted to see it. */
export function pdfFault(error: unknown): string {
  return error instanceof Error && error.name === 'PasswordException'
    ? 'This PDF is locked with a password.'
    : 'This PDF is damaged and cannot be shown here.'
}
