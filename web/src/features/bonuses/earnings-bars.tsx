import {
  Bar,
  BarChart,
  CartesianGrid,
  ResponsiveContainer,
  Tooltip,
  usePlotArea,
  XAxis,
  YAxis,
  type BarShapeProps,
} from 'recharts'
import { Money } from '@/components/money'
import { labelsThatFit, roundTicks } from '@/lib/chart-axis'
import { axisDay, barName, type Bucket } from '@/lib/chart-period'
import { add, compare, formatAxis, formatMoney, type Decimal } from '@/lib/money'
import type { EarningsPoint } from './api'

interface Row {
  point: EarningsPoint
  name: string
  /** Heights only: places on a drawing. What is printed comes from the decimal texts. */
  pairing: number
  referral: number
  override: number
  total: Decimal
}

const kinds = [
  { key: 'pairing', label: 'Pairing', colour: 'var(--chart-1)' },
  { key: 'referral', label: 'Referral', colour: 'var(--chart-2)' },
  { key: 'override', label: 'Override', colour: 'var(--chart-3)' },
] as const

/** A part of a bar: at least 2 px high, 1 px apart from the part below it. */
function Part({ x, y, width, height, fill, value }: BarShapeProps) {
  const amount = Array.isArray(value) ? value[1] - value[0] : value
  if (!amount) return <g />
  const drawn = Math.max(2, height - 1)
  return <rect x={x} y={y + height - drawn} width={width} height={drawn} fill={fill} />
}

function TooltipBox({ row, bucket, running }: { row: Row; bucket: Bucket; running: boolean }) {
  return (
    <div className="rounded-control border bg-popover p-3 text-compact shadow-popover">
      <p className="font-semibold">{barName(row.point.start, bucket, running)}</p>
      {kinds.map(({ key, label, colour }) => (
        <p key={key} className="flex items-center justify-between gap-6">
          <span className="flex items-center gap-2">
            <span aria-hidden className="size-2.5 rounded-mark" style={{ background: colour }} />
            {label}
          </span>
          <Money value={row.point[key]} />
        </p>
      ))}
      <p className="mt-1 flex justify-between gap-6 border-t pt-1 font-semibold">
        Total <Money value={row.total} />
      </p>
    </div>
  )
}

const still = matchMedia('(prefers-reduced-motion: reduce)').matches
const widest = 30

/** The total of each bar above it, as far as there is room; the table and the tooltip have them all. */
function Totals({ rows, top }: { rows: Row[]; top: number }) {
  const area = usePlotArea()
  if (!area) return null
  const slot = area.width / rows.length
  const labels = rows.flatMap((row, index) => {
    if (compare(row.total, '0') === 0) return []
    const height = (row.pairing + row.referral + row.override) / top
    return [
      {
        text: formatMoney(row.total),
        x: area.x + (index + 0.5) * slot,
        y: area.y + area.height * (1 - height),
      },
    ]
  })
  return labelsThatFit(labels, Math.min(widest, slot * 0.8) / 2).map((label) => (
    <text
      key={label.x}
      x={Math.min(label.x, area.x + area.width - label.text.length * 3.6)}
      y={label.y - 6}
      textAnchor="middle"
      fontSize={13}
      fill="var(--foreground)"
    >
      {label.text}
    </text>
  ))
}

export default function EarningsBars({ points, bucket }: { points: EarningsPoint[]; bucket: Bucket }) {
  const rows = points.map<Row>((point) => ({
    point,
    name: axisDay(point.start, bucket),
    pairing: Number(point.pairing),
    referral: Number(point.referral),
    override: Number(point.override),
    total: add(point.pairing, point.referral, point.override),
  }))
  const ticks = roundTicks(Math.max(...rows.map((row) => row.pairing + row.referral + row.override)))
  const top = ticks.at(-1) ?? 100
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart
        data={rows}
        margin={{ top: 20, right: 4, bottom: 0, left: 4 }}
        barCategoryGap="20%"
        title="Earnings by type"
      >
        <CartesianGrid vertical={false} stroke="var(--border)" />
        <XAxis
          dataKey="name"
          tickLine={{ stroke: 'var(--input)' }}
          axisLine={{ stroke: 'var(--input)' }}
          tick={{ fill: 'var(--muted-foreground)', fontSize: '0.8125rem' }}
          minTickGap={24}
        />
        <YAxis
          width="auto"
          ticks={ticks}
          domain={[0, top]}
          tickFormatter={formatAxis}
          tickLine={false}
          axisLine={false}
          tick={{ fill: 'var(--muted-foreground)', fontSize: '0.8125rem' }}
        />
        <Tooltip
          cursor={{ fill: 'var(--muted)' }}
          content={({ active, payload }) => {
            const row = (payload[0] as { payload?: Row } | undefined)?.payload
            return active && row ? (
              <TooltipBox row={row} bucket={bucket} running={row === rows.at(-1)} />
            ) : null
          }}
        />
        {kinds.map(({ key, label, colour }) => (
          <Bar
            key={key}
            dataKey={key}
            name={label}
            stackId="earned"
            fill={colour}
            maxBarSize={widest}
            shape={Part}
            isAnimationActive={!still}
            animationDuration={240}
          />
        ))}
        <Totals rows={rows} top={top} />
      </BarChart>
    </ResponsiveContainer>
  )
}
