import { isEasyToGuess } from '@/lib/easy-password'

export const tooShort = 'Password must be at least 6 characters long.'

const words = ['too short', 'weak', 'fair', 'good', 'strong'] as const

/** How hard a password is to guess, roughly, from 0 to 4. A hint, not a rule: the rule is six characters. */
export function passwordStrength(password: string): { score: number; word: string } {
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(password)).length
  const varied = new Set(password).size
  const score =
    password.length < 6 || isEasyToGuess(password)
      ? 0
      : Math.min(4, Math.max(1, Math.floor((Math.min(varied, password.length) + kinds * 1.5 - 2) / 4)))
  const isEasy = score === 0 && password.length >= 6
  return { score, word: isEasy ? 'too easy to guess' : (words[score] ?? 'weak') }
}
