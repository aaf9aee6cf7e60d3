import type { Platform } from './platform'

export interface RuntimeConfig {
  /** Origin of the backend; the page's own origin when the configuration leaves it empty. */
  supabaseUrl: string
  supabaseKey: string
  /** What the settings say; null while they cannot be read. */
  platform: Platform | null
}

declare global {
  var HARBORLINE_CONFIG: Partial<RuntimeConfig> | undefined
  /** Ends what /config.js does until the page is alive. */
  var HARBORLINE_READY: (() => void) | undefined
}

/** Reads what /config.js set. Throws the start-up fault a person should see when a part is missing. */
export function readConfig(): RuntimeConfig {
  const given = globalThis.HARBORLINE_CONFIG
  if (typeof given?.supabaseUrl !== 'string') throw new Error('supabaseUrl is required.')
  if (!given.supabaseKey) throw new Error('supabaseKey is required.')
  return {
    supabaseUrl: given.supabaseUrl || location.origin,
    supabaseKey: given.supabaseKey,
    platform: given.platform ?? null,
  }
}
