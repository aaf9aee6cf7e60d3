import { Skeleton } from '@/components/ui/skeleton'

/** In the place of a page whose code or session is not here yet; as tall as the window, so that nothing jumps. */
export function Waiting() {
  return (
    <div aria-busy className="page-gutter mx-auto flex min-h-dvh max-w-[1168px] flex-col gap-6 py-8">
      <span role="status" className="sr-only">
        Loading
      </span>
      <div className="flex flex-col gap-3">
        <Skeleton className="h-9 w-72 max-w-full" />
        <Skeleton className="h-5 w-96 max-w-full" />
      </div>
      <Skeleton className="h-44 w-full" />
      <div className="grid gap-6 md:grid-cols-2">
        <Skeleton className="h-32" />
        <Skeleton className="h-32" />
      </div>
    </div>
  )
}
