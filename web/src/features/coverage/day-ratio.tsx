import { Percent } from '@/components/money'
import type { CoverageDay } from './api'

/** A day's ratio; on a day without one nobody could withdraw anything. */
export function DayRatio({ day }: { day: CoverageDay }) {
  return day.ratio === null ? 'Nothing to cover' : <Percent value={day.ratio} />
}
