export const tooEasy = 'This password is too easy to guess. Choose another one.'

/** Blanks alone, one character again and again, or one of the own names and addresses: the server refuses these too. */
export function isEasyToGuess(password: string, ...own: string[]): boolean {
  const guess = password.trim().toLowerCase()
  const names = own.map((name) => name.trim().toLowerCase())
  return new Set(guess).size < 2 || names.some((name) => guess === name || guess === name.split('@')[0])
}
