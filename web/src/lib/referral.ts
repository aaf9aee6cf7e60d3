import { stored } from './stored'

const key = 'referral'
const lifetime = 30 * 24 * 3_600_000

export interface Referral {
  /** The code of the first link the visitor followed. */
  kept: string | null
  /** Another code met since; the visitor decides between the two. */
  offered: string | null
}

interface Saved {
  kept: string
  savedAt: number
  offered?: string
}

function read(now: number): Saved | null {
  try {
    const saved = JSON.parse(stored.get(key) ?? 'null') as Saved | null
    return saved && now - saved.savedAt < lifetime ? saved : null
  } catch {
    return null
  }
}

/** The referral code a visitor came with, kept for 30 days on this device. */
export const referral = {
  read(now = Date.now()): Referral {
    const saved = read(now)
    return { kept: saved?.kept ?? null, offered: saved?.offered ?? null }
  },

  /** Notes the code of a link. A different one than the kept waits for the visitor's word. */
  meet(code: string, now = Date.now()): Referral {
    const saved = read(now)
    const next: Saved =
      !saved || saved.kept === code ? { kept: code, savedAt: now } : { ...saved, offered: code }
    stored.set(key, JSON.stringify(next))
    return this.read(now)
  },

  choose(code: string, now = Date.now()): Referral {
    stored.set(key, JSON.stringify({ kept: code, savedAt: now } satisfies Saved))
    return this.read(now)
  },

  forget(): void {
    stored.remove(key)
  },
}
