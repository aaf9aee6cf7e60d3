import { WifiOff } from 'lucide-react'
import { offlineSince, useOnline } from '@/lib/use-online'

/** Says on the administrators' side that the network is gone, and how old the figures are. */
export function OfflineStrip({ loadedAt }: { loadedAt: number }) {
  const online = useOnline()
  return (
    <div role="status" className="empty:hidden">
      {online ? null : (
        <div className="border-b bg-warning-soft">
          <p className="page-gutter mx-auto flex max-w-[1648px] items-center gap-2.5 py-2 text-compact">
            <WifiOff className="size-4 stroke-[1.75] text-warning" aria-hidden />
            {offlineSince(loadedAt)}
          </p>
        </div>
      )}
    </div>
  )
}
