import { cn } from '@/lib/cn'

export interface GaugeMark {
  /** In the unit of value and max. */
  at: number
  label?: string
  /** The stop that matters now. */
  strong?: boolean
  /** Of the first one: printed only where it leaves room for the next label. */
  yields?: boolean
}

interface GaugeProps {
  label: string
  /** What a screen reader says, such as "$184.50 of $284.50". */
  valueText: string
  value: number
  max: number
  marks?: GaugeMark[]
  /** Part right of the value that is there but not free; hatched. */
  reserved?: number
  /** Small ticks between the ends; at most 30. Named stops stand alone. */
  ticks?: number
  kind?: 'meter' | 'progressbar'
  className?: string
}

// The needle keeps inside the track, so every place is a share of the track less the needle's own 10 px.
const needle = 10
const place = (share: number) => `calc(${share * 100}% - ${share * needle}px)`

// What a line less a length leaves, times this, is more than any label is wide.
const much = 9999

/**
 * Centred under its tick, or beginning there where what stands left of it leaves no room for that; never beyond the
 * end of the line.
 */
function placeOfLabel(share: number, taken: string): string {
  const half = `clamp(0px, (${share * 100}cqw - ${taken} - 50%) * ${much}, 50%)`
  return `translateX(min(${share * 100}cqw - ${half}, 100cqw - 100%))`
}

function Marks({ marks, max }: { marks: GaugeMark[]; max: number }) {
  const named = marks.filter((mark) => mark.label)
  const [first, second] = named
  if (!first) return null
  const share = (mark: GaugeMark) => (max > 0 ? mark.at / max : 0)
  // The room of a first label that may yield, and the least gap beside it.
  const taken = first.yields ? `${(first.label?.length ?? 0) + 1}ch` : '0px'
  return (
    <div className="tabular @container relative -mt-1 h-5 text-compact text-muted-foreground">
      {named.map((mark) => (
        <span
          key={mark.label}
          className={cn('absolute left-0 whitespace-nowrap', mark.strong && 'font-semibold text-foreground')}
          style={{
            transform: placeOfLabel(share(mark), mark === first ? '0px' : taken),
            ...(mark.yields && second
              ? {
                  maxWidth: `clamp(0px, (${share(second) * 100}cqw - ${taken}) * ${much}, 100%)`,
                  overflow: 'hidden',
                }
              : {}),
          }}
        >
          {mark.label}
        </span>
      ))}
    </div>
  )
}

/**
 * The tide gauge: a line, ticks, one lamp where the water stands. Numbers here are places on a line, never
 * figures. On another ground than a card set `[--ground:var(--background)]`.
 */
export function Gauge(props: GaugeProps) {
  const {
    label,
    valueText,
    value,
    max,
    marks = [],
    reserved = 0,
    ticks = 0,
    kind = 'meter',
    className,
  } = props
  const share = max > 0 ? Math.min(1, Math.max(0, value / max)) : 0
  const held = max > 0 ? Math.min(1, (value + reserved) / max) : 0
  const count = Math.min(30, ticks)
  return (
    <div className={className}>
      <div
        role={kind}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuenow={Math.min(value, max)}
        aria-valuetext={valueText}
        className="relative h-8"
      >
        <span className="absolute inset-x-0 top-[11px] h-0.5 bg-border" />
        {Array.from({ length: count + 1 }, (_, index) => (
          <span
            key={index}
            className="absolute top-[13px] h-1.5 w-px bg-input"
            style={{ left: `calc(${(index / count) * 100}% - ${index === count ? 1 : 0}px)` }}
          />
        )).slice(0, count > 0 ? undefined : 0)}
        {marks.map((mark) => (
          <span
            key={`${mark.at}-${mark.label ?? ''}`}
            className={cn('absolute top-[13px] h-3 w-px', mark.strong ? 'bg-foreground' : 'bg-input')}
            style={{ left: `min(${(max > 0 ? mark.at / max : 0) * 100}%, 100% - 1px)` }}
          />
        ))}
        <span className="absolute top-[10px] left-0 h-1 bg-primary" style={{ width: place(share) }} />
        {reserved > 0 ? (
          <span
            className="hatch absolute top-1.5 h-3"
            style={{ left: place(share), right: `calc(100% - ${held * 100}%)` }}
          />
        ) : null}
        <span
          className="absolute top-0 h-6 w-2.5 animate-needle border-x-2 border-(--ground,var(--card)) bg-lantern"
          style={{ left: place(share) }}
        />
      </div>
      <Marks marks={marks} max={max} />
    </div>
  )
}
