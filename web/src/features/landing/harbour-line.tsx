// Soundings: the hairlines lie further apart the deeper they are.
const depths = [0, 4, 11, 21, 34, 50, 70, 95, 127]
const strengths = [0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2]

interface QuayProps {
  /** Where the wall stands, how high the quay is above the water, how far each line steps back. */
  wall: number
  quay: number
  water: number
  width: number
  height: number
  scale: number
  step: number
  ticks: number
  lamp: number
}

function Quay({ wall, quay, water, width, height, scale, step, ticks, lamp }: QuayProps) {
  const rise = water - quay
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      preserveAspectRatio="none"
      fill="none"
      aria-hidden
      className="block shrink-0 text-primary"
    >
      {depths.map((depth, index) => {
        const down = depth * scale
        const x = wall + depth * step
        return (
          <path
            key={depth}
            d={`M0 ${water + down + 0.5}H${x + 0.5}V${quay + down + 0.5}H${width}`}
            stroke="currentColor"
            strokeOpacity={strengths[index]}
            strokeWidth={index === 0 ? 1.75 : 1}
          />
        )
      })}
      {Array.from({ length: ticks }, (_, index) => {
        const long = index % 5 === 4
        const y = quay + ((index + 1) * rise) / (ticks + 1)
        return (
          <path
            key={index}
            d={`M${wall} ${y}h${long ? -16 : -8}`}
            stroke="currentColor"
            strokeOpacity={0.6}
            strokeWidth={1}
          />
        )
      })}
      <path d={`M${lamp} ${quay}v-62`} stroke="currentColor" strokeOpacity={0.6} strokeWidth={1.75} />
      <rect x={lamp - 4.5} y={quay - 80} width={9} height={18} rx={2} className="fill-lantern" />
    </svg>
  )
}

/** A harbour wall, its gauge and one lamp, drawn in hairlines; static. */
export function HarbourLine() {
  return (
    <>
      <div className="pointer-events-none absolute inset-x-0 bottom-0 hidden justify-center overflow-hidden xl:flex">
        <div className="relative">
          <Quay
            wall={1360}
            quay={95}
            water={139}
            width={2880}
            height={240}
            scale={0.75}
            step={0.97}
            ticks={5}
            lamp={2103}
          />
        </div>
      </div>
      <div className="flex justify-center overflow-hidden xl:hidden">
        <Quay
          wall={772}
          quay={96}
          water={152}
          width={1440}
          height={232}
          scale={0.6}
          step={0.6}
          ticks={5}
          lamp={852}
        />
      </div>
    </>
  )
}
