import type { Platform } from './platform'

/** Where a member reaches support: its page, else its address; null where neither is set. */
export function supportLink(platform: Platform | undefined): string | null {
  const { url, email } = platform?.support ?? {}
  if (url) return url
  return email ? `mailto:${email}` : null
}
