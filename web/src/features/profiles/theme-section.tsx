import { Segmented } from '@/components/ui/segmented'
import { useStore } from '@/lib/store'
import { theme, type Theme } from '@/lib/theme'

const options: { value: Theme; label: string }[] = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

export function ThemeSection() {
  const choice = useStore(theme)
  return (
    <div>
      <Segmented label="Theme" value={choice} options={options} onChange={(next) => theme.set(next)} />
    </div>
  )
}
