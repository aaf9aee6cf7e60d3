import { stored } from './stored'

const key = 'referral'
const lifetime = 30 * 24 * 3_600_000
/** Nobody follows more links than this; the first and the newest stay. */
const most = 5

interface Saved {
  codes: string[]
  savedAt: number
}

function read(now: number): Saved | null {
  try {
    const saved = JSON.parse(stored.get(key) ?? 'null') as Partial<Saved> | null
    if (!Array.isArray(saved?.codes) || !(now - (saved.savedAt ?? 0) < lifetime)) return null
    return { codes: saved.codes, savedAt: saved.savedAt ?? 0 }
  } catch {
    return null
  }
}

function write(codes: string[], savedAt: number): string[] {
  if (codes.length === 0) stored.remove(key)
  else stored.set(key, JSON.stringify({ codes, savedAt } satisfies Saved))
  return codes
}

/**
 * The referral codes of the links a visitor followed, kept for 30 days on this device. Whether a code exists is known
 * at the sign-up, which drops the others and asks when two are left.
 */
export const referral = {
  read(now = Date.now()): string[] {
    return read(now)?.codes ?? []
  },

  /** Notes the code of a link. It replaces no other: only the visitor decides between two sponsors. */
  meet(code: string, now = Date.now()): string[] {
    const saved = read(now)
    const [first, ...others] = saved?.codes ?? []
    if (first === undefined || first === code) return write([code, ...others], now)
    const newest = [...others.filter((other) => other !== code), code].slice(1 - most)
    return write([first, ...newest], saved?.savedAt ?? now)
  },

  /** The visitor's word: this one and no other. */
  choose(code: string, now = Date.now()): string[] {
    return write([code], now)
  },

  /** Forgets codes that do not exist. */
  drop(codes: string[], now = Date.now()): string[] {
    const saved = read(now)
    return write(
      (saved?.codes ?? []).filter((code) => !codes.includes(code)),
      saved?.savedAt ?? now,
    )
  },
}
