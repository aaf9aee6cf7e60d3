import { useId } from 'react'

const places = [30, 95, 160, 225, 290]

function Person({ x, y, label, dashed }: { x: number; y: number; label: string; dashed?: boolean }) {
  return (
    <g>
      <rect
        x={x - 24}
        y={y}
        width={48}
        height={32}
        rx={6}
        className="fill-card stroke-input"
        strokeDasharray={dashed ? '4 3' : undefined}
      />
      <text x={x} y={y + 21} textAnchor="middle" className="fill-foreground text-compact font-semibold">
        {label}
      </text>
    </g>
  )
}

function Bracket({ from, to, text, blocked }: { from: number; to: number; text: string; blocked?: boolean }) {
  return (
    <g className={blocked ? 'stroke-warning' : 'stroke-primary'}>
      <path
        d={`M${from} 134v12H${to}v-12`}
        fill="none"
        strokeWidth={2}
        strokeDasharray={blocked ? '4 3' : undefined}
      />
      <text
        x={(from + to) / 2}
        y={168}
        textAnchor="middle"
        stroke="none"
        className={blocked ? 'fill-warning text-caption' : 'fill-primary text-caption'}
      >
        {text}
      </text>
    </g>
  )
}

/** How direct referrals form pairs, in order of joining; the same facts stand beside it in words. */
export function PairDiagram() {
  const id = useId()
  return (
    <figure className="flex flex-col gap-3">
      <svg
        viewBox="-8 0 336 178"
        role="img"
        aria-labelledby={`${id}-title`}
        aria-describedby={`${id}-text`}
        className="w-full max-w-[400px]"
      >
        <title id={`${id}-title`}>Five direct referrals and the pairs they form</title>
        <path
          d="M160 40v28M30 98V68H290V98M95 68V98M160 68V98M225 68V98"
          fill="none"
          className="stroke-input"
          strokeWidth={1}
        />
        <Person x={160} y={8} label="You" />
        {places.map((x, index) => (
          <Person key={x} x={x} y={98} label={String(index + 1)} dashed={index === 3} />
        ))}
        <Bracket from={30} to={95} text="Pair 1 pays" />
        <Bracket from={160} to={225} text="Pair 2 waits" blocked />
        <text x={290} y={150} textAnchor="middle" className="fill-muted-foreground text-caption">
          no pair yet
        </text>
      </svg>
      <figcaption id={`${id}-text`} className="max-w-[60ch] text-compact text-muted-foreground">
        Your direct referrals pair up in the order they joined: 1 with 2, 3 with 4. Here pair 1 pays. Pair 2
        waits, because 4 has not funded a package; positions never change. 5 waits for a sixth.
      </figcaption>
    </figure>
  )
}
