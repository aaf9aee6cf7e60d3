import * as ToggleGroup from 'radix-ui/toggle-group'
import { cn } from '@/lib/cn'

interface SegmentedProps<T extends string> {
  label: string
  value: T
  options: { value: T; label: string }[]
  onChange: (value: T) => void
  className?: string
}

/** A choice of one among a few, side by side: the ranges of a chart, the theme. */
export function Segmented<T extends string>({
  label,
  value,
  options,
  onChange,
  className,
}: SegmentedProps<T>) {
  return (
    <ToggleGroup.Root
      type="single"
      value={value}
      onValueChange={(next) => next && onChange(next as T)}
      aria-label={label}
      className={cn(
        'inline-flex divide-x divide-input rounded-control border border-input bg-card',
        className,
      )}
    >
      {options.map((option) => (
        <ToggleGroup.Item
          key={option.value}
          value={option.value}
          className="min-h-9 px-3 text-compact font-medium first:rounded-l-[7px] last:rounded-r-[7px] hover:bg-muted focus-visible:relative focus-visible:z-10 data-[state=on]:bg-accent data-[state=on]:font-semibold data-[state=on]:text-accent-foreground pointer-coarse:min-h-11"
        >
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}
