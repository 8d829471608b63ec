import Reconciliation

struct SimplifiedChinese: Wording {
    let language = ReportLanguage.simplifiedChinese

    func name(of likelihood: Likelihood) -> String {
        switch likelihood {
        case .high: "高"
        case .medium: "中"
        case .low: "低"
        }
    }

    func name(of reason: Reason) -> String {
        switch reason {
        case .neverClaimed: "从未领取"
        case .noReceipt: "没有票据"
        case .rodeAlong: "随票带出"
        case .claimFailed: "领取被拒"
        case .ownerAmbiguous: "归属不明"
        case .unknownProduct: "未知商品"
        }
    }

    func sentence(_ reason: Reason) -> String {
        switch reason {
        case .neverClaimed: "已付款并通过验证，但应用服务器从未领取。"
        case .noReceipt: "它在 Apple 的顾客购买记录中，但从未有票据包含它。"
        case .rodeAlong: "它出现在为其他购买上传的票据里：客户端没有处理到这笔购买。"
        case .claimFailed: "应用服务器曾领取，但被拒绝。"
        case .ownerAmbiguous: "不止一个用户提交过它。"
        case .unknownProduct: "应用的商品列表里没有这个商品。"
        }
    }

    func sentence(_ problem: ReceiptProblem) -> String {
        switch problem {
        case .empty: "上传内容为空。"
        case .malformed: "连续多晚 Apple 都无法读取。"
        case .notGenuine: "Apple 判定票据不是真的。"
        case .noTransactions: "票据是真的，但没有任何购买。"
        case .accountGone: "该顾客的 Apple 账户已不存在。"
        case .contradicted: "Apple 判定票据不是真的，但 Apple 自己的签名有效。"
        case .tryAgain: "Apple 要求稍后再试。"
        case .appleUnreachable: "无法连接 Apple。"
        case .unreadableAnswer: "Apple 的回答无法读取。"
        case .needsConfiguration: "需要先修正一项配置。"
        case .unknownApp: "配置中没有这个应用。"
        }
    }

    func action(_ problem: ReceiptProblem) -> String {
        switch problem {
        case .empty, .malformed, .noTransactions: "请用户打开应用并刷新票据。"
        case .notGenuine, .contradicted: "留意欺诈；请用户提供 Apple 的收据邮件。"
        case .accountGone: "已无法再验证；请用户提供 Apple 的收据邮件。"
        case .tryAgain, .appleUnreachable, .unreadableAnswer: "等待：每晚会自动重试。"
        case .needsConfiguration: "运行 “iap-reconcile doctor”。"
        case .unknownApp: "把应用加入配置，或停止提交它的票据。"
        }
    }

    func title(_ kind: Suspicion.Kind) -> String {
        switch kind {
        case .foreignBundle: "其他应用的票据"
        case .unknownProduct: "未知商品"
        case .manyUsers: "多个用户提交"
        case .contradiction: "Apple 的回答与其签名矛盾"
        }
    }

    func name(of source: Source) -> String {
        switch source {
        case .appServer: "应用自己的服务器"
        case .local: "本地校验 Apple 签名"
        case .verifyReceipt: "Apple verifyReceipt"
        case .serverAPI: "Apple App Store Server API"
        }
    }

    func name(of outcome: ClaimOutcome) -> String {
        switch outcome {
        case .delivered: "已发货"
        case .alreadyDelivered: "之前已发货"
        case .notVerified: "尚未验证"
        case .wrongUser: "属于其他用户"
        case .excluded: "已排除"
        }
    }

    func name(of bracket: AgeBracket) -> String {
        switch bracket {
        case .upToOne: "0–1 天"
        case .upToSeven: "2–7 天"
        case .upToThirty: "8–30 天"
        case .upToNinety: "31–90 天"
        case .older: "90 天以上"
        }
    }

    func text(of phrase: Phrase) -> String {
        switch phrase {
        case .title: "{day} 漏单报告"
        case .titleOfDryRun: "{day} 漏单报告（试运行）"
        case .asOf: "截至 {time}（{zone}）"
        case .endedEarly: "本次运行提前结束：{reason}"
        case .language: "语言"
        case .allReports: "全部报告"
        case .skipToCases: "跳到漏单列表"
        case .likelyLost: "笔疑似漏单"
        case .thisRun: "概览"
        case .newInRun: "本次新增"
        case .oldest: "最早一笔已有"
        case .pending: "待领取"
        case .pendingNote: "仍在宽限期内，不算漏单"
        case .money: "已付款未发货"
        case .moneyNote: "Apple 未给出价格时以标价计"
        case .unpriced: "{n} 笔价格未知"
        case .none: "无"
        case .receipts: "票据"
        case .verifiedOfDue: "已验证，共 {n} 张到期"
        case .notVerified: "待重试"
        case .unusableCount: "不可用"
        case .notTried: "未处理"
        case .moreCurrencies: "另有 {n} 种货币"
        case .ageing: "等待时长"
        case .ageingNote: "未结漏单按购买距今天数"
        case .trend: "最近 {n} 次运行"
        case .trendNote: "每次运行后的未结漏单；柱形为当次新增"
        case .trendSummary: "从最早一次的 {first} 笔到最近一次的 {last} 笔未结漏单。"
        case .openCases: "未结漏单"
        case .newCases: "新增"
        case .age: "距今"
        case .count: "笔数"
        case .cases: "疑似漏单"
        case .noCases: "没有疑似漏单：所有见到的购买都已发货或仍在宽限期内。"
        case .firstOf: "共 {total} 笔，这里是前 {n} 笔；可能性高的在前，其次按购买时间。"
        case .allOf: "共 {total} 笔；可能性高的在前，其次按购买时间。"
        case .furtherPages: "本页为 {total} 笔中的前 {n} 笔，其余见后续页面。"
        case .otherPage: "第 {n} 页"
        case .previousPage: "上一页"
        case .nextPage: "下一页"
        case .likelihood: "可能性"
        case .user: "用户"
        case .transaction: "交易"
        case .product: "商品"
        case .price: "价格"
        case .purchased: "购买时间"
        case .whatToDo: "建议处理"
        case .isNew: "新"
        case .unknownOwner: "归属未知"
        case .andMore: "等，另有 {n} 个"
        case .listPrice: "标价"
        case .priceUnknown: "未知"
        case .ago: "{age}前"
        case .underAnHour: "不到 1 小时"
        case .oneHour: "1 小时"
        case .hours: "{n} 小时"
        case .days: "{n} 天"
        case .deliver: "发货给 {user}。"
        case .deliverForOrder: "按订单 {order} 发货给 {user}。"
        case .findBuyer: "没有已知用户提交过：先找到购买者再发货。"
        case .askUsers: "发货前先确认是谁购买：{users}。"
        case .investigate: "先核对商品和票据：可能没有可发的货。"
        case .evidence: "证据"
        case .evidenceOf: "交易 {id} 的证据"
        case .timeline: "经过"
        case .why: "列入原因"
        case .ids: "用户与交易"
        case .originalTransaction: "原始交易"
        case .order: "订单"
        case .orders: "订单"
        case .receipt: "票据"
        case .device: "设备"
        case .app: "应用"
        case .environment: "环境"
        case .verifiedBy: "验证方式"
        case .firstVerified: "首次通过验证"
        case .lastVerified: "再次验证，仍未领取"
        case .becameCase: "宽限期已过，列为漏单"
        case .uploadedFor: "为它上传票据 {receipt}"
        case .uploadedAlong: "为其他购买上传票据 {receipt}，它随票带出"
        case .byUser: "用户 {user}"
        case .nobody: "无人登录"
        case .withOrder: "订单 {order}"
        case .claimBy: "领取被拒：{outcome}"
        case .copy: "复制"
        case .copyOf: "复制 {text}"
        case .copied: "已复制：{text}"
        case .quantity: "数量"
        case .search: "搜索"
        case .searchHint: "交易、用户、订单、商品、票据、设备"
        case .filters: "筛选"
        case .anyReason: "全部原因"
        case .anyProduct: "全部商品"
        case .anyApp: "全部应用"
        case .anyAge: "全部时长"
        case .anyTime: "新旧都看"
        case .newOnly: "本次新增"
        case .oldOnly: "之前已有"
        case .reason: "原因"
        case .seen: "新旧"
        case .clear: "清除筛选"
        case .shown: "{total} 笔"
        case .shownOf: "{total} 笔中的 {n} 笔"
        case .noMatch: "没有符合条件的漏单。清除筛选可看到更多。"
        case .rowsFromTo: "第 {from}–{to} 笔，共 {total} 笔"
        case .sortBy: "按{column}排序"
        case .scriptOff: "搜索和筛选需要 JavaScript；lost-orders.xlsx 和 lost-orders.csv 含有全部漏单。"
        case .unusable: "不可用的票据"
        case .unverified: "尚未验证的票据"
        case .suspicious: "可疑"
        case .latestFirst: "共 {total} 条。"
        case .partOfList: "共 {total} 条，这里是前 {n} 条；全部见 lost-orders.xlsx。"
        case .uploaded: "上传时间"
        case .nights: "已试晚数"
        case .what: "类别"
        case .users: "用户"
        case .found: "发现"
        case .totals: "控制总数"
        case .balance: "平衡：没有遗漏，也没有重复计算。"
        case .doNotBalance: "不平衡。"
        case .received: "验证所得"
        case .whiteTable: "白表"
        case .verified: "已验证"
        case .newlyWhite: "新入白表"
        case .alreadyWhite: "已在白表"
        case .alreadyBlack: "已在黑表"
        case .excluded: "已排除"
        case .openingWhite: "期初白表"
        case .new: "新增"
        case .claimed: "已领取"
        case .resolved: "已处理"
        case .refunded: "已退款"
        case .closingWhite: "期末白表"
        case .stages: "各阶段用时（全部工作线程合计）"
        case .stage: "阶段"
        case .seconds: "秒"
        case .items: "数量"
        case .transactions: "交易数"
        case .units: "件数"
        case .hash: "散列合计"
        case .figure: "项目"
        case .reports: "漏单：全部报告"
        case .day: "日期"
        case .run: "运行 {n}"
        case .dryRun: "试运行"
        case .outcome: "结果"
        case .complete: "完成"
        case .early: "提前结束"
        case .files: "文件"
        case .sheetCases: "漏单"
        case .sheetUnusable: "不可用票据"
        case .sheetUnverified: "未验证票据"
        case .sheetSuspicious: "可疑"
        case .sheetTotals: "总数"
        case .section: "部分"
        case .amount: "金额"
        case .productName: "商品名称"
        case .uploadedUTC: "上传时间（UTC）"
        case .currency: "货币"
        case .purchasedUTC: "购买时间（UTC）"
        case .purchasedLocal: "购买时间（{zone}）"
        case .ageInDays: "距今天数"
        case .yes: "是"
        case .no: "否"
        case .detail: "详情"
        case .firstSeen: "首次出现（UTC）"
        case .reasons: "原因"
        case .isListPrice: "标价"
        }
    }
}
