/** A name inside a sentence of a table; whoever shows it has the whole one elsewhere. */
export function clipName(name: string, longest = 24): string {
  return name.length > longest ? `${name.slice(0, longest - 1)}…` : name
}
