import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { Notice } from '@/components/notice'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { ReviewDialog } from '@/components/review-dialog'
import { Badge, StatusBadge } from '@/components/status-badge'
import { Timestamp } from '@/components/timestamp'
import { Button } from '@/components/ui/button'
import { Skeleton } from '@/components/ui/skeleton'
import { paths } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { toasts } from '@/lib/toast-queue'
import { subscriptionsQuery, useChangeSubscription, type BotName, type BotSubscription } from './api'
import { SubscribeDialog } from './subscribe-dialog'

interface Bot {
  name: BotName
  lines: [string, string]
  comingSoon?: boolean
}

const bots: Bot[] = [
  { name: 'Scout', lines: ['Watches the major currency pairs.', 'Opens one small position at a time.'] },
  {
    name: 'Ranger',
    lines: ['Trades inside a price range that you set in MT5.', 'Stops when the price leaves the range.'],
  },
  {
    name: 'Sentinel',
    lines: ['Follows positions that you opened yourself.', 'Moves their stops and closes them.'],
  },
]

export function BotsPage() {
  const { userId } = useStore(memberSession)
  const query = useQuery(subscriptionsQuery(userId ?? ''))
  const timedOut = query.error?.message.includes('timed out') ?? false
  return (
    <PageBody className="flex flex-col gap-8">
      <PageHead title="Bots & Tools" purpose="Free trading bots for your own MT5 account." />
      <Notice tone="info">
        <p>
          Runs on the provider&apos;s VPS with your own MT5 account; hosting costs about $5 per month. Bots
          can lose money. Bots do not fund bonuses.
        </p>
      </Notice>
      <Region
        query={query}
        errorText={timedOut ? 'Request timed out, please try again' : 'Failed to load subscriptions'}
        loadingText="Loading subscriptions"
        skeleton={<ListSkeleton />}
      >
        {(subscriptions) => (
          <ul className="grid gap-3 md:grid-cols-3 md:gap-4">
            {bots.map((bot) => (
              <BotCard
                key={bot.name}
                bot={bot}
                subscription={
                  subscriptions.find((subscription) => subscription.bot_name === bot.name) ?? null
                }
              />
            ))}
          </ul>
        )}
      </Region>
      <p className="text-muted-foreground">
        Prefer to trade yourself?{' '}
        <Link to={paths.education} className="text-link">
          Trading School
        </Link>
      </p>
    </PageBody>
  )
}

function BotBadge({ bot, subscription }: { bot: Bot; subscription: BotSubscription | null }) {
  if (bot.comingSoon) return <Badge>Unavailable</Badge>
  if (!subscription) return <Badge>Available</Badge>
  return <StatusBadge status={subscription.status === 'suspended' ? 'suspended' : 'subscribed'} />
}

function BotCard({ bot, subscription }: { bot: Bot; subscription: BotSubscription | null }) {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <li className="card-box flex flex-col gap-3">
      <div className="flex items-center justify-between gap-3">
        <h2 className="text-section">{bot.name}</h2>
        <BotBadge bot={bot} subscription={subscription} />
      </div>
      <p className="text-muted-foreground">
        {bot.lines[0]}
        <br />
        {bot.lines[1]}
      </p>
      <p className="text-compact">
        <span className="font-semibold">Free</span>
        {subscription ? (
          <span className="block text-muted-foreground">
            {subscription.mt5_server}, login {subscription.mt5_login}, subscribed{' '}
            <Timestamp value={subscription.subscribed_at} />
          </span>
        ) : null}
      </p>
      {subscription?.status === 'suspended' ? (
        <p className="text-compact text-warning">
          Suspended by an administrator. Contact support to learn why.
        </p>
      ) : null}
      {bot.comingSoon ? null : (
        <Button
          variant="outline"
          className="mt-auto self-start"
          aria-label={`${subscription ? 'Unsubscribe from' : 'Subscribe to'} ${bot.name}`}
          onClick={() => setOpen(true)}
        >
          {subscription ? 'Unsubscribe' : 'Subscribe'}
        </Button>
      )}
      {open && subscription ? <UnsubscribeDialog subscription={subscription} onClose={close} /> : null}
      {open && !subscription ? <SubscribeDialog bot={bot.name} onClose={close} /> : null}
    </li>
  )
}

function UnsubscribeDialog({
  subscription,
  onClose,
}: {
  subscription: BotSubscription
  onClose: () => void
}) {
  const change = useChangeSubscription()
  const bot = subscription.bot_name
  return (
    <ReviewDialog
      open
      onClose={onClose}
      title={`Unsubscribe from ${bot}?`}
      facts={[
        { label: 'MT5 server', value: subscription.mt5_server },
        { label: 'MT5 login', value: subscription.mt5_login },
      ]}
      warning={`${bot} stops trading on this account. Positions it opened stay open until you close them. Your MT5 password is erased.`}
      confirmLabel="Unsubscribe"
      busyLabel="Unsubscribing..."
      dismissLabel="Keep it"
      lateText="No answer yet. Trying again does no harm."
      errorFallback={`Failed to unsubscribe from ${bot}. Please try again.`}
      onConfirm={async () => {
        await change.mutateAsync({ bot, account: null })
        toasts.success(`Successfully unsubscribed from ${bot}. Admin has been notified.`)
        onClose()
      }}
    />
  )
}

function ListSkeleton() {
  return (
    <div className="grid gap-3 md:grid-cols-3 md:gap-4">
      {bots.map((bot) => (
        <Skeleton key={bot.name} className="h-56 rounded-card" />
      ))}
    </div>
  )
}
