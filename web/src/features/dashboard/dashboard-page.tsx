import { useQuery } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { lazy, Suspense, type ReactNode } from 'react'
import { useSearchParams } from 'react-router'
import { PageBody } from '@/components/page-body'
import { PageHead } from '@/components/page-head'
import { Region } from '@/components/region'
import { Button } from '@/components/ui/button'
import { Tabs, TabsContent, TabsList, TabsTrigger } from '@/components/ui/tabs'
import { formatTime } from '@/lib/dates'
import { restToSend } from '@/lib/deposit-rest'
import { memberQuery, type Member } from '@/lib/member'
import { platformQuery } from '@/lib/platform'
import { useStore } from '@/lib/store'
import type { AdvancedPanels } from './advanced-view'
import { syncedAt } from './api'
import { ClassicSkeleton, ClassicView } from './classic-view'
import { nextStepOf, pendingDeposit } from './next-steps'
import { useBackgroundRefresh, useLateBonuses, useRefreshButton } from './use-fresh-figures'
import { ViewMenu } from './view-menu'

const AdvancedView = lazy(() => import('./advanced-view'))
const CompactView = lazy(() => import('./compact-view'))

const views = ['classic', 'advanced', 'compact'] as const
type View = (typeof views)[number]

interface DashboardPageProps {
  earnings: ReactNode
  panels: AdvancedPanels
  tree: ReactNode
}

function useView(): [View, (view: string) => void] {
  const [parameters, setParameters] = useSearchParams()
  const given = parameters.get('view')
  const view = views.find((known) => known === given) ?? 'classic'
  return [
    view,
    (next) => setParameters(next === 'classic' ? {} : { view: next }, { preventScrollReset: true }),
  ]
}

function purposeOf(member: Member | undefined): string {
  if (!member || member.verification.verificationStep === 'complete')
    return 'Your balance, your team and what each has earned.'
  const waiting = pendingDeposit(member)
  if (waiting)
    return restToSend(waiting)
      ? 'Part of your deposit is missing.'
      : 'Your deposit is in review. There is nothing to do now.'
  const left = 5 - nextStepOf(member).number
  return `${left === 1 ? 'One step' : `${['Two', 'Three', 'Four'][left - 2]} steps`} left. Your balance and team appear here.`
}

/** Balance, team and earnings of the signed-in member. What other features draw comes in from the route. */
export function DashboardPage({ earnings, panels, tree }: DashboardPageProps) {
  const [view, setView] = useView()
  const member = useQuery({ ...memberQuery, meta: { errorToast: 'Failed to load dashboard data' } })
  const platform = useQuery(platformQuery)
  useBackgroundRefresh()
  useLateBonuses(member)
  return (
    <PageBody>
      <PageHead
        title="Your Command Center"
        purpose={purposeOf(member.data)}
        actions={
          <RefreshActions lastRun={member.data?.last_sync_at ?? null} advanced={view === 'advanced'}>
            <ViewMenu compact={view === 'compact'} onChange={setView} />
          </RefreshActions>
        }
      />
      <Tabs value={view} onValueChange={setView} className="mt-4">
        <TabsList>
          <TabsTrigger value="classic">Classic View</TabsTrigger>
          <TabsTrigger value="advanced">Advanced Analytics</TabsTrigger>
        </TabsList>
        <TabsContent value={view}>
          <Suspense fallback={<ClassicSkeleton />}>
            <Region
              query={member}
              errorText="Failed to load dashboard data"
              loadingText="Loading dashboard"
              skeleton={<ClassicSkeleton />}
            >
              {(data) => (
                <Region
                  query={platform}
                  errorText="Failed to load dashboard data"
                  skeleton={<ClassicSkeleton />}
                >
                  {(settings) => {
                    if (view === 'advanced')
                      return <AdvancedView member={data} platform={settings} panels={panels} />
                    if (view === 'compact')
                      return <CompactView member={data} platform={settings} tree={tree} />
                    return <ClassicView member={data} platform={settings} earnings={earnings} />
                  }}
                </Region>
              )}
            </Region>
          </Suspense>
        </TabsContent>
      </Tabs>
    </PageBody>
  )
}

interface RefreshActionsProps {
  lastRun: string | null
  advanced: boolean
  children: ReactNode
}

function RefreshActions({ lastRun, advanced, children }: RefreshActionsProps) {
  const { refresh, busy } = useRefreshButton()
  const heard = useStore(syncedAt)
  // A sync that found nothing to do leaves the server's last run as it was; what it answered is newer.
  const at = heard ?? (lastRun ? new Date(lastRun) : null)
  return (
    <>
      <span className="tabular mr-auto text-compact text-muted-foreground md:mr-0">
        {at ? `Last sync ${formatTime(at)}` : 'Not synced yet'}
        {advanced ? ', refreshes every 5 minutes' : ''}
      </span>
      <Button variant="outline" busy={busy && 'Syncing'} onClick={refresh}>
        <RefreshCw aria-hidden />
        Refresh
      </Button>
      {children}
    </>
  )
}
