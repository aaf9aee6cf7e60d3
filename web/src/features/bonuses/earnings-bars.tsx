import { Bar, BarChart, CartesianGrid, LabelList, ResponsiveContainer, Tooltip, XAxis, YAxis, type BarShapeProps } from 'recharts'
import { Money } from '@/components/money'
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
function Part({ x = 0, y = 0, width = 0, height = 0, fill, value }: BarShapeProps) {
  const amount = Array.isArray(value) ? Number(value[1]) - Number(value[0]) : Number(value)
  if (!amount) return <g />
  const drawn = Math.max(2, Number(height) - 1)
  return <rect x={Number(x)} y={Number(y) + Number(height) - drawn} width={Number(width)} height={drawn} fill={fill} />
}

function TooltipBox({ row, bucket }: { row: Row; bucket: Bucket }) {
  return (
    <div className="rounded-control border bg-popover p-3 text-compact shadow-popover">
      <p className="font-semibold">{barName(row.point.start, bucket)}</p>
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
// Totals above the bars need room; more bars than this carry them in the tooltip and the table only.
const labelled = 15

export default function EarningsBars({ points, bucket }: { points: EarningsPoint[]; bucket: Bucket }) {
  const rows = points.map<Row>((point) => ({
    point,
    name: axisDay(point.start, bucket),
    pairing: Number(point.pairing),
    referral: Number(point.referral),
    override: Number(point.override),
    total: add(point.pairing, point.referral, point.override),
  }))
  const paying = rows.filter((row) => compare(row.total, '0') !== 0)
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart data={rows} margin={{ top: 20, right: 4, bottom: 0, left: 4 }} barCategoryGap="20%" title="Earnings by type">
        <CartesianGrid vertical={false} stroke="var(--border)" />
        <XAxis
          dataKey="name"
          tickLine={{ stroke: 'var(--input)' }}
          axisLine={{ stroke: 'var(--input)' }}
          tick={{ fill: 'var(--muted-foreground)', fontSize: 13 }}
          minTickGap={24}
        />
        <YAxis
          width="auto"
          tickFormatter={formatAxis}
          tickLine={false}
          axisLine={false}
          tick={{ fill: 'var(--muted-foreground)', fontSize: 13 }}
          domain={[0, paying.length === 0 ? 100 : 'auto']}
        />
        <Tooltip
          cursor={{ fill: 'var(--muted)' }}
          content={({ active, payload }) => {
            const row = (payload[0] as { payload?: Row } | undefined)?.payload
            return active && row ? <TooltipBox row={row} bucket={bucket} /> : null
          }}
        />
        {kinds.map(({ key, label, colour }, index) => (
          <Bar
            key={key}
            dataKey={key}
            name={label}
            stackId="earned"
            fill={colour}
            maxBarSize={30}
            shape={Part}
            isAnimationActive={!still}
            animationDuration={240}
          >
            {index === kinds.length - 1 && paying.length <= labelled ? (
              <LabelList
                valueAccessor={(_entry: unknown, at: number) => {
                  const total = rows[at]?.total ?? '0'
                  return compare(total, '0') === 0 ? '' : formatMoney(total)
                }}
                position="top"
                fill="var(--foreground)"
                fontSize={13}
              />
            ) : null}
          </Bar>
        ))}
      </BarChart>
    </ResponsiveContainer>
  )
}
