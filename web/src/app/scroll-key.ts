import type { Location } from 'react-router'

/** Under which a page's place is remembered. The first page of every visit has the same key, whatever page it is. */
export function scrollKey({ key, pathname, search }: Location): string {
  return key === 'default' ? pathname + search : key
}
