/// All scenarios, in the order in which they are played.
enum Repertoire {
    static func scenarios(_ theatre: Theatre, points: Int) -> [Scenario] {
        Kills.scenarios(theatre, points: points) + Signals.scenarios(points: points)
            + Databases.scenarios(points: points) + Networks.scenarios(points: points)
            + Neighbours.scenarios(points: points) + Conditions.scenarios(points: points)
            + Claims.scenarios(points: points) + Redeliveries.scenarios(points: points)
            + Apples.scenarios(points: points) + Reports.scenarios() + Runs.scenarios()
    }
}
