import { useId } from 'react'
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
  const name = useId()
  return (
    <div
      role="radiogroup"
      aria-label={label}
      className={cn(
        'inline-flex divide-x divide-input rounded-control border border-input bg-card',
        className,
      )}
    >
      {options.map((option) => (
        <label
          key={option.value}
          className="relative inline-flex min-h-9 items-center px-3 text-compact font-medium first:rounded-l-[7px] last:rounded-r-[7px] hover:bg-muted has-checked:bg-accent has-checked:font-semibold has-checked:text-accent-foreground has-focus-visible:z-10 has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-ring pointer-coarse:min-h-11"
        >
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            className="absolute inset-0 appearance-none outline-none"
          />
          {option.label}
        </label>
      ))}
    </div>
  )
}
