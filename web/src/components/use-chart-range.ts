import { put, useAddress } from '@/lib/use-address'
import type { ChartRange } from './chart-card'

/** The range of a page's chart, kept in the address so that a link and a reload show the same. */
export function useChartRange<Range extends ChartRange>(offered: readonly Range[], usual: NoInfer<Range>) {
  const [parameters, change] = useAddress()
  const asked = parameters.get('range')
  const range = offered.find((one) => one === asked) ?? usual
  const choose = (next: ChartRange) =>
    change((present) => put(present, 'range', next === usual ? null : next), { replace: true })
  return [range, choose] as const
}
