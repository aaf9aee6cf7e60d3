/** What narrows a list, by the names of the wire; what is empty or 'all' filters nothing. */
export function narrowing<T extends string | number>(filters: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '' && value !== 'all'))
}
