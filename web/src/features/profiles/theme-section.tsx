import { Segmented } from '@/components/ui/segmented'
import { useStore } from '@/lib/store'
import { theme, themes } from '@/lib/theme'

export function ThemeSection() {
  const choice = useStore(theme)
  return (
    <div>
      <Segmented label="Theme" value={choice} options={themes} onChange={(next) => theme.set(next)} />
    </div>
  )
}
