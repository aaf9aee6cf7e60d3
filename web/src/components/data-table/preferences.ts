import { useState } from 'react'
import { stored } from '@/lib/stored'

export type Density = 'compact' | 'comfortable'

interface Preferences {
  density: Density
  hidden: string[]
}

/** Density and chosen columns of a table, remembered on this device. */
export function usePreferences(name: string, density: Density) {
  const key = `table-${name}`
  const [preferences, setPreferences] = useState<Preferences>(() => {
    try {
      return { density, hidden: [], ...(JSON.parse(stored.get(key) ?? '{}') as Partial<Preferences>) }
    } catch {
      return { density, hidden: [] }
    }
  })
  function update(change: Partial<Preferences>): void {
    const next = { ...preferences, ...change }
    stored.set(key, JSON.stringify(next))
    setPreferences(next)
  }
  return [preferences, update] as const
}
