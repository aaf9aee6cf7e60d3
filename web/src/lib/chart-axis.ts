const steps = [1, 2, 2.5, 5, 10]

/** Round ticks from 0 to at least `most`, about four of them: 312.5 gives 0, 100, 200, 300, 400. */
export function roundTicks(most: number): number[] {
  if (most <= 0) return [0, 25, 50, 75, 100]
  const raw = most / 4
  const scale = 10 ** Math.floor(Math.log10(raw))
  const step = (steps.find((candidate) => candidate * scale >= raw) ?? 10) * scale
  const count = Math.ceil(most / step)
  return Array.from({ length: count + 1 }, (_, index) => index * step)
}

/**
 * Where an axis of ratios in percent ends: far enough for most of them and for 200, so that a few far larger ones do
 * not press the line at 100 to the floor.
 */
export function readableTop(ratios: number[]): number {
  const sorted = ratios.toSorted((left, right) => left - right)
  const most = sorted.at(-1) ?? 0
  const usual = sorted[Math.floor((sorted.length - 1) * 0.75)] ?? 0
  return roundTicks(Math.max(200, Math.min(most, usual * 2))).at(-1) ?? 200
}

export interface PlacedLabel {
  text: string
  x: number
  /** Top of its bar. */
  y: number
}

const characterWidth = 7.2
const lineHeight = 16

/**
 * Which labels can stand above their bars without touching each other or a taller neighbour; larger amounts
 * first. `reach` is half the width of a bar.
 */
export function labelsThatFit(labels: PlacedLabel[], reach: number): PlacedLabel[] {
  const half = (label: PlacedLabel) => (label.text.length * characterWidth) / 2
  const placed: PlacedLabel[] = []
  for (const label of labels.toSorted((left, right) => left.y - right.y)) {
    const touches = placed.some((other) => {
      const distance = Math.abs(other.x - label.x)
      const texts = distance < half(other) + half(label) + 4 && Math.abs(other.y - label.y) < lineHeight
      const bar = distance < half(label) + reach && other.y < label.y
      return texts || bar
    })
    if (!touches) placed.push(label)
  }
  return placed
}
